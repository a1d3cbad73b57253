"""Groups of runs, what they cost, and running what is missing."""
