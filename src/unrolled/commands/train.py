"""Train, validate and test a model.

Usage:
    python src/train.py [group=choice ...] [name=value ...]
    python src/train.py -m [group=choice,choice ...] [name=value,value ...]
    python src/train.py resume=RUN

Examples:
    python src/train.py model=cgru attention=gru_att
    python src/train.py data=parallel_text data.train='[a.en,a.de]' data.val='[b.en,b.de]' data.test='[c.en,c.de]'
    python src/train.py -m model=bahdanau,cgru attention=bahdanau,gru_att seed=1,2,3

Final figures go to standard output, progress to standard error. -m trains all combinations.
"""

from omegaconf import DictConfig

from unrolled.api.training_job import train_in
from unrolled.configuration.command import command
from unrolled.configuration.launch import launch


@command("train")
def main(config: DictConfig) -> float | None:
    return launch(train_in, config)


if __name__ == "__main__":
    main()
