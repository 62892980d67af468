"""Findings and whole results become sentences here, and nowhere else; no code looks into one.

:mod:`~cospan.wording.findings` has a writer for every kind of finding,
:mod:`~cospan.wording.results` what comparisons and monitorings say as a whole.
"""
