"""The gallery's examples and the site's configuration are programs, not modules with doctests.

`tests/test_docs.py` runs the examples.
"""

collect_ignore_glob = [
    "conf.py",
    "renew.py",
    "gallery/*",
    "gallery_built/*",
    "_build/*",
    "api/*",
    "images/*",
]
