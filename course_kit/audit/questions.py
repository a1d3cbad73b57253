"""Name the questions of an audit, and the rankings of words that they compare.

``questions.json`` has for each question its title, the unit of its figure, the sentence that
answers it, an ending of that sentence for each verdict, and, where a model may lack what the
question needs, the sentence for that case.
"""

import json
from pathlib import Path

QUESTIONS = json.loads(Path(__file__).with_name("questions.json").read_text("utf-8"))
ATTENTION, GRADIENT, LEFT_OUT = "attention", "gradient × input", "leave-one-out"
RANDOM, UNTRAINED = "random words", "attention before training"
ITSELF, TOP = "leave-one-out with itself", "the top word"
