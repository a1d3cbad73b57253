"""Crude words: no page of the course opens with them; whoever looks further may meet them."""

from collections.abc import Iterable

WORDS = (
    "arse arsehole ass asses asshole assholes bastard bastards bitch bitches boobs bullshit cock "
    "crap crappy cunt cunts dick dicks dildo fag faggot fags fuck fucked fucker fuckers fucking "
    "fucks hooker masturbate masturbating masturbation motherfucker nigger niggers orgasm orgy "
    "penis piss pissed porn porno pussy rape raped rapes raping retard retarded shit shits shitty "
    "slut sluts tits vagina wank wanker whore whores"
)
CRUDE = frozenset(WORDS.split())


def is_decent(tokens: Iterable[str]) -> bool:
    """Whether none of the words is crude, in whatever case."""
    return CRUDE.isdisjoint(token.lower() for token in tokens)
