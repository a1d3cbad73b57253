"""One training loop for every model: any device, resumable at any moment, best epoch kept."""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "TrainingConfig": "config",  # how a model is trained
        "TrainingError": "config",  # training cannot go on
        "History": "checkpoints",  # the results of every epoch
        "fit": "loop",  # train a model and leave it with the weights of its best epoch
        "predict": "loop",  # class probabilities of documents
        "measure": "loop",  # the same, and figures of every document's attention
        "choose_device": "devices",  # the device of that name, or the best available
        "use_threads": "devices",  # how many cores torch uses
    },
)
