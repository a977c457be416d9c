"""Front ends: program text in, a :class:`~thence.logic.ops.LogicProgram` out."""
