"""Many rules in one program against one of them."""
