"""Labelled sets, two or more: what the estimator, the audit and the comparison of many share.

`costs` says what a sample costs each set and what weights follow; `preparation` and `shrinkage`
prepare the sets for it; `constant` lets a shift of the mean be seen; `fitted` is what a classifier
keeps, `calibration` turns its weights into probabilities.
"""
