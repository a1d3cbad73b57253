"""Names of the rankings of words that the questions of an audit compare."""

ATTENTION, GRADIENT, LEFT_OUT = "attention", "gradient × input", "leave-one-out"
SIZE = f"|{LEFT_OUT}|"  # without its sign, which attention has not either
RANDOM, UNTRAINED, ITSELF = "random words", "attention before training", "leave-one-out with itself"
