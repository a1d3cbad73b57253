"""Attention you can read, measure and doubt: the library behind the lessons."""

import os

# A thread that waits for its neighbours shall soon sleep, not spin on. Our steps are many and
# small: beside two other busy programs on two cores, a training step with the default of 300,000
# spins took six times as long as with this, and on a quiet machine no less. libgomp (torch's
# OpenMP on Linux) reads it once, when torch is first imported. So it is too late where a program or
# a notebook imports torch before this package, unless a command of this package started it: the
# variable passes on to notebooks and runs.
os.environ.setdefault("GOMP_SPINCOUNT", "3000")
