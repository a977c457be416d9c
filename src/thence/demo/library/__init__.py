"""A library with radio tags: who takes which book where, and what is wrong with it.

``simulate`` makes a day of the library, ``library.thence`` is the program that watches it, and
``findings`` compares what the program finds with what really happened.
"""
