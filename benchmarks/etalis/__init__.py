"""The experiments of paper 4, section 5: rules (6) to (11) over streams of growing size."""
