"""What importing mixpul costs beyond `import torch, sklearn`: the fastest of several fresh starts.

Names are looked up on first use, so the classifier is imported too, which is when the work is done.
"""

import subprocess
import sys
import time

REPEATS = 7


def measure_seconds(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    base, ours = [], []
    measure_seconds("from mixpul import MixPULClassifier")  # fills the disk cache
    for _ in range(REPEATS):  # in turns: the machine's mood hits both alike
        base.append(measure_seconds("import torch, sklearn"))
        ours.append(measure_seconds("import torch, sklearn; from mixpul import MixPULClassifier"))
    print(
        f"import torch, sklearn {min(base):.2f} s; "
        f"the classifier {min(ours) - min(base):.2f} s more (at most 0.3 wanted)"
    )


if __name__ == "__main__":
    main()
