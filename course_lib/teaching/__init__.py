"""What makes a course of it: exercises and their checkers, the bug museum, lessons, site."""

from course_lib.fronts import front
from course_lib.teaching import checks

__all__, __getattr__ = front(
    __name__,
    {
        "bugs": "bugs",  # broken implementations, and what finds them out
        "MUSEUM": "bugs",  # every specimen
        "HEALTHY": "bugs",  # the HAN that they deviate from
        "diagnose": "bugs",  # which invariants a specimen breaks
        "probe": "bugs",  # the documents it is tried on
        "wrong_measures": "wrong_measures",  # measurements of faithfulness with one mistake each
        "WRONG_MEASURES": "wrong_measures",  # every one of them
        "compare": "wrong_measures",  # its number beside the right one, and what its check says
        "show_javascript": "javascript",  # a function of the reading room, in a lesson
        "sweep": "sweeping",  # try every control of a view over its whole range
        "SweepError": "sweeping",  # a control at which a view breaks
        "HOSTILE_TEXTS": "sweeping",  # what text boxes are tried with
        "committed_record": "records",  # a committed file of figures, by its path
        "shortest_seconds": "records",  # how long a call takes at best
        "readers": "readers",  # the small classifiers of lessons 01 and 02
        "encoder": "encoder",  # the small Transformer of lesson 09
        "encoder_record": "encoder_record",  # what that lesson measures of it, and of five seeds
        "pretrained": "pretrained",  # a Transformer from a hub as a reading, where there is one
        "lesson_tables": "lesson_tables",  # the tables of lessons in READMEs and lesson 00
        "lessons": "lessons",  # running and checking lessons, and the form we commit
        "site": "site",  # executed lessons as pages that ask for nothing
        "small_experiments": "small_experiments",  # those of lesson 08, on made-up texts
        "students": "students",  # the copy of a lesson without solutions
        "desk": "desk",  # a learner's folder of copies, renewed without loss
        "progress": "progress",  # which exercises of these copies are solved
        "show_progress": "progress",  # the same, displayed in a learner's notebook
        "probes": "probes",  # checks that only some broken implementations fail
        "museum": "museum",  # every specimen trained once, and how well it does
    }
    | dict.fromkeys(checks.__all__, "checks"),  # a checker for each exercise
)
