"""A judge of runs that shares nothing with the program: formulas by SymPy, integrals by SciPy.

Each module says of one kind of run which equations it must keep, and yields a sentence for each
that it does not.
"""
