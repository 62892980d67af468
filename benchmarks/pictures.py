"""The pictures of paper/, for benchmarks that are run as scripts."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "paper"))

from images import Images, load_images

__all__ = ["Images", "load_images"]
