"""Attention you can read, measure and doubt: the library behind the lessons."""

import os

# A thread that waits for its neighbours shall sleep, not spin. Our steps are many and small: with
# two other busy programs on two cores, a spinning training step took six times as long. OpenMP
# reads this once, when torch is first imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
