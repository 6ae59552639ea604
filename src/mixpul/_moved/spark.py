"""The short name of `mixpul.deploy.spark`."""

from mixpul.deploy.spark import BatchScorer as BatchScorer
from mixpul.deploy.spark import score as score
