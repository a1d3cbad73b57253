"""Claims of the four seed papers, measured on recorded networks; a file for each claim.

``attention-course author seed-claims NAME`` writes ``results/seed_claims/NAME.json``; without a
name it measures all of ``claims_record.CLAIMS``. A record holds no text. Its keys:

- ``paper`` and ``says``: the claim in our words; ``measured``: how we ask; ``unit``; ``positive``:
  what a positive value of the figures that compare means.
- ``command``, ``seed`` (of the sample and of whatever is random), ``environment`` (device, commit)
  and ``seconds``.
- ``networks``: by group (those networks that differ by their seed alone), by id, the training
  ``seed``, the digest of the ``weights``, and whether they are ``committed``. If not, the network
  was trained for this record from its ``spec``, with that ``validation accuracy``; where
  ``results/runs`` has a run of that id, it is another training by the same settings.
  ``sanet_lengths`` needs no weights and has the digest of the ``predictions`` instead.
- ``texts``: by group the number of texts, their ``seed``, the digest of the ``sample`` and that of
  the ``data``; or how many sentences we made up.
- ``figures``: by group and name. Each has the ``mean`` of its networks and their 95 % t interval
  ``low`` to ``high`` (None for a single network), and ``by_network``: by id the value (``mean``)
  and its 95 % interval over texts (of means by bootstrap, of other statistics by jackknife), with
  the number of texts ``counted`` and ``left_out`` (those in which there is nothing to measure). A
  name ``A − B`` is a difference, text by text.

``gate_bias`` reads run records and writes none.
"""
