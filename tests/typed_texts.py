"""Texts as people type and paste them, and what a tokeniser takes, in Python and in the page."""

TYPED = (  # what stands there, what becomes of it
    ("It doesn\u2019t work.", "It doesn't work."),
    ("don\u2018t d\u00b4accord won`t can\u2032t isn\u02bct", "don't d'accord won't can't isn't"),
    (
        "rock \u2019n\u2019 roll, the dogs\u2019 house",
        "rock \u2019n\u2019 roll, the dogs\u2019 house",
    ),
    ("the \u201990s, 5\u20326", "the \u201990s, 5\u20326"),
    ("e\u0301t\u0301\u2019es", "\u00e9t\u0301'es"),
    ("n\u2019t\u00a0good\u2009\u202f\u3000at all", "n't good at all"),
    ("so\u00adft zero\u200bwidth \ufeffmark \u2060joined", "soft zerowidth mark joined"),
    ("\u0e2a\u0e27\u200b\u0e23\u0e31", "\u0e2a\u0e27 \u0e23\u0e31"),
    ("\u200fabc\u202e def\u2066", "abc def"),
    ("\ufb01ne a\ufb00air o\ufb03ce", "fine affair office"),
    ("&#39;tis &quot;good&quot; &amp; new&nbsp;&lt;3", '\'tis "good" & new <3'),
    ("don&#8217;t don&#x2019;t", "don't don't"),
    ("&amp;#39; &#0; &#xD800; &#150; &bogus; &amp", "&#39; &#0; &#xD800; &#150; &bogus; &amp"),
    ("\u200dstart end\u200d \u200c alone", "start end alone"),
    ("\u0645\u06cc\u200c\u062e\u0648\u0627", "\u0645\u06cc\u200c\u062e\u0648\u0627"),
    ("\U0001f469\u200d\U0001f680 wow", "\U0001f469\u200d\U0001f680 wow"),
    ("one<br />two\r\n three", "one two three"),
    ("", ""),
)
