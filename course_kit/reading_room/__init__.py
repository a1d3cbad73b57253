"""The reading room: trained networks in one page, computed by plain JavaScript in any browser.

``engine/`` states each network a third time, after the paper's equations and PyTorch: one function
a model, for one document, equal to PyTorch's; another says step by step how a weight came about.
``pack`` packs what it reads, ``packed`` is the committed files of that, and ``page/`` puts a page
together. Packing needs the course's packages; ``make look``, which starts from the committed files,
needs the standard library alone."""

MARK = '<meta name="generator" content="attention-course room">'  # in each page of ours
