"""What `import mixpul` costs beyond `import torch, sklearn`: the smallest of several fresh starts.

python benchmarks/imports.py
"""

import subprocess
import sys
import time

REPEATS = 7


def seconds(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    base, ours = [], []
    seconds("import mixpul")  # fills the disk cache
    for _ in range(REPEATS):  # in turns: the machine's mood hits both alike
        base.append(seconds("import torch, sklearn"))
        ours.append(seconds("import torch, sklearn, mixpul"))
    print(
        f"import torch, sklearn {min(base):.2f} s; with mixpul {min(ours) - min(base):.2f} s more"
    )


if __name__ == "__main__":
    main()
