"""What each data set is, where it comes from, and what its positive class means."""

from typing import NamedTuple

__all__ = ["ABOUT", "About"]


class About(NamedTuple):
    description: str
    citation: str
    licence: str


ABOUT = {
    "krvskp": About(
        "Chess positions of king and rook against king and pawn (on a7, one step from "
        "queening), White to move. A row is a position, described by 36 properties; positive "
        "means that White can win. All columns hold codes: 35 are binary (f/t, g/l or n/t as "
        "0/1), 'katri' has three categories (b, n, w as 0, 1, 2) and should be one-hot encoded.",
        "Alen Shapiro: Chess (King-Rook vs. King-Pawn). UCI Machine Learning Repository. "
        "DOI 10.24432/C5DK5C.",
        "CC BY 4.0",
    ),
    "titanic": About(
        "People aboard the Titanic. A row is a person, described by class (first, second, third, "
        "crew), age (adult, child) and sex, each coded as numbers and standardised; positive means "
        "that the person survived. There are only 14 distinct rows, so no classifier is right on "
        "more than 79.05 % of all people.",
        "Robert J. MacG. Dawson: The 'Unusual Episode' Data Revisited. Journal of Statistics "
        "Education 3(3), 1995.",
        "Published counts, as in R's Titanic table; the source states no licence.",
    ),
    "spambase": About(
        "E-mail messages. A row is a message, described by the frequencies (in percent) of 48 "
        "words and 6 characters and by the average, longest and total length of its runs of "
        "capitals; positive means spam. The columns are raw and heavily skewed: take "
        "numpy.log1p, then standardise. The rows come spam first, and 391 of them repeat "
        "another one: shuffle before splitting.",
        "Mark Hopkins, Erik Reeber, George Forman, Jaap Suermondt: Spambase. UCI Machine Learning "
        "Repository, 1999. DOI 10.24432/C53G6X.",
        "CC BY 4.0",
    ),
    "mushroom": About(
        "Mushrooms of the families Agaricus and Lepiota. A row is a specimen as a field guide "
        "describes it, by 22 properties, here one-hot encoded into 117 columns ('?', an "
        "unknown stalk root, is a category too); positive means poisonous.",
        "Mushroom. UCI Machine Learning Repository, 1981. DOI 10.24432/C5959T.",
        "CC BY 4.0",
    ),
    "satimage": About(
        "Pixels of a Landsat image. A row is a neighbourhood of 3 x 3 pixels in four "
        "spectral bands; positive means that the middle one is class 1, red soil, against the "
        "five other kinds of ground. The original has 6435 rows, OpenML's copy 6430.",
        "Ashwin Srinivasan: Statlog (Landsat Satellite). UCI Machine Learning Repository, "
        "1993. DOI 10.24432/C55887.",
        "CC BY 4.0",
    ),
    "texture": About(
        "Patches of eleven natural textures from Brodatz's album, 500 of each. A row is a "
        "patch, described by 40 fourth-order moments; positive means class 2 against the ten "
        "others. 27 rows repeat another one.",
        "Anne Guerin-Dugue and others: Deliverable R3-B4-P, Benchmarks. ELENA project, ESPRIT "
        "6891, 1995; as in the KEEL repository.",
        "The source states no licence.",
    ),
    "twonorm": About(
        "Drawn from two normal distributions in 20 dimensions with unit covariance, whose "
        "means are 2/sqrt(20) and -2/sqrt(20) in every coordinate; positive means the negative "
        "mean, KEEL's class 1. The best possible error is about 2.3 %.",
        "Leo Breiman: Bias, variance, and arcing classifiers. Technical report 460, University "
        "of California, Berkeley, 1996; as in the KEEL repository.",
        "The source states no licence.",
    ),
    "ethn": About(
        "Faces, Asian or not, half of each. A row is an image, described by 30 features; "
        "positive is the class that the file codes as 1.",
        "Xiaoguang Lu, Anil K. Jain: Ethnicity identification from face images. Proc. SPIE "
        "5404, 2004.",
        "Not published.",
    ),
    "mnist": About(
        "Handwritten digits, 28 x 28 pixels from 0 (paper) to 255 (ink), in the original "
        "order; the label is the digit.",
        "Yann LeCun, Leon Bottou, Yoshua Bengio, Patrick Haffner: Gradient-based learning "
        "applied to document recognition. Proceedings of the IEEE 86(11), 1998.",
        "The source states no licence.",
    ),
    "cifar10": About(
        "Photographs, 32 x 32 pixels in red, green and blue, in the original order. Labels: 0 "
        "airplane, 1 automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse, 8 ship, 9 "
        "truck.",
        "Alex Krizhevsky: Learning multiple layers of features from tiny images. Technical "
        "report, University of Toronto, 2009.",
        "The source states no licence.",
    ),
}
