"""When does sparse attention help? The second edition of the study on faithful attention.

Read in this order: ``encoders`` and ``attentions`` (a file and a line for each), ``network``,
``corpora``, ``training``, ``ruler`` (how faithfulness is measured), ``measures`` (all of a
network), ``design`` and ``cell`` (one network of the plan and its record), ``runner``, ``planted``
(the ruler on known truth), ``analysis`` and ``power``. The plan is
``notebooks/experiments/faithful/plan_2.md``; the author's command is ``crossover``.
"""
