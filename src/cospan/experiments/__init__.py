"""The paper's experiments as a command, and what better defaults make of them.

`images` finds MNIST and Fashion-MNIST, `protocol` runs one draw of one pair under every rule,
`study` runs all of them in parallel and gathers the tables, `figures` and `page` show them.

Learned features are the paper's next step: `embeddings` finds and compares real corpora,
`pictures` compares pixels with a small network's features, `two_models` asks what two models
share; `learned` runs and shows all three. `document` writes both pages.
"""

from cospan.experiments.images import Images, load_images
from cospan.experiments.learned import reproduce_embeddings
from cospan.experiments.page import reproduce
from cospan.experiments.study import Study

__all__ = ["Images", "Study", "load_images", "reproduce", "reproduce_embeddings"]
