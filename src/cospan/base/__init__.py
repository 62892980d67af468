"""What every room stands on: arrays of any library, checks of input, files, text, tolerances.

Each module is a front door of its own: ``from cospan.base.text import plural``.
"""
