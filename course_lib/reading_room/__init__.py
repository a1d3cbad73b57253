"""The reading room: trained networks in one page, computed by plain JavaScript in any browser.

``engine/`` states each network a third time, after the paper's equations and PyTorch: one function
a model, for one document, equal to PyTorch's. ``bundle`` packs what it reads.
"""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "ROOM": "pack",  # the ids of the recorded networks that the page shows
        "open_runs": "pack",  # recorded networks by id, and runs by folder
        "bundle": "pack",  # runs as the one string that the engine loads
        "write_page": "page.build",  # the page as one file, with recorded networks and your runs
        "EXAMPLES": "page.examples",  # the six texts that it begins with
        "engine": "script",  # the engine as one script, for a worker
        "source": "script",  # one function of it
    },
)
