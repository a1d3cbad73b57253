"""When is attention faithful? Encoders × attentions × corpora × seeds, by one battery of measures.

The plan is ``notebooks/experiments/faithful/plan.md``; the author's command ``faithful`` runs
cells.
"""
