"""Repetition, ``b+`` and its kin: from the candidates in a window to the chains that count.

``repeat`` finds the candidates of each row of a match. ``anychain`` tells whether there is any
chain where nobody asks which, ``scan`` finds the greedy one or every one: by way of ``links`` and
``steps`` where neighbours are compared. ``begun`` says where a greedy one may begin.
"""
