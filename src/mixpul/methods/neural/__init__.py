"""What all methods that train a network share.

A fit builds members (one network each), gives each an objective, trains them side by side,
averages each over its best epochs, and publishes their mean as the classifier.
"""

from mixpul.methods.neural.classifier import NeuralPUClassifier
from mixpul.methods.neural.member import Member
from mixpul.methods.neural.objective import Objective

__all__ = ["Member", "NeuralPUClassifier", "Objective"]
