"""The house as a graph: which module imports which, also inside functions."""

import ast
from pathlib import Path

from mixpul._names import METHODS

ROOT = Path(__file__).parents[1] / "src" / "mixpul"
# Rooms from the ground floor up: a room imports from lower floors and from itself.
FLOORS = [
    {"_names"},
    {"_util"},
    {"losses", "augment", "nets", "metrics"},
    {"training", "datasets", "miners", "priors"},
    {"base"},
    {"methods"},
    {"tables", "images"},
    {"persistence"},
    {"assess"},
    {"pages"},
    {"deploy"},
    {"paper"},
    {"cli", "_moved"},
    {"__main__"},
]


def name_module(path):
    parts = ["mixpul", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts).removesuffix(".__init__")


MODULES = {name_module(path): path for path in ROOT.rglob("*.py")}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}
# Where the names live that `mixpul` itself offers, so that a detour over the door counts.
BEHIND_THE_DOOR = {
    f"mixpul.{name}": place.partition(":")[0] for name, place in METHODS.locate_classes().items()
} | {"mixpul.load": "mixpul.persistence", "mixpul.save": "mixpul.persistence"}


def list_imports(name):
    """Yield what a module imports of ours, wherever in its text: "mixpul.losses.mix"."""
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mixpul":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == "mixpul")


def find_module(whole):
    whole = BEHIND_THE_DOOR.get(whole, whole)
    return whole if whole in MODULES else whole.rpartition(".")[0]


# The door itself names its rooms for type checkers only, and opens them when asked.
GRAPH = {
    name: {find_module(whole) for whole in list_imports(name)} - {"mixpul", name}
    for name in MODULES
    if name != "mixpul"
}


def name_room(module):
    return module.split(".")[1]


def test_every_room_is_on_a_floor():
    assert {name_room(name) for name in GRAPH} == set().union(*FLOORS)


def test_a_room_imports_from_lower_floors_only():
    floor = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
    upward = [
        f"{name} imports {target}"
        for name, targets in GRAPH.items()
        for target in targets
        if name_room(target) != name_room(name)
        and floor[name_room(target)] >= floor[name_room(name)]
    ]
    assert upward == []


def test_no_modules_import_each_other_in_a_circle():
    done, path = set(), []

    def visit(name):
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            path.append(name)
            for target in sorted(GRAPH[name]):
                visit(target)
            done.add(path.pop())

    for name in sorted(GRAPH):
        visit(name)


def test_nothing_private_to_a_package_is_imported_from_outside():
    foreign = []
    for name in MODULES:
        for whole in list_imports(name):
            parts = whole.split(".")
            for depth, part in enumerate(parts):
                is_private = part.startswith("_") and not part.startswith("__")
                owner = ".".join(parts[:depth])
                if is_private and not f"{name}.".startswith(f"{owner}."):
                    foreign.append(f"{name} imports {whole}")
    assert foreign == []


def test_the_house_has_few_doors_and_no_long_corridors():
    assert len([path for path in ROOT.iterdir() if path.name != "__pycache__"]) <= 24
    lengths = {name: len(path.read_text().splitlines()) for name, path in MODULES.items()}
    assert {name: n for name, n in lengths.items() if n > 450} == {}


def count_lines(function):
    """Count the lines of a function without its docstring."""
    doc = function.body[0]
    has_doc = isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant)
    whole = function.end_lineno - function.lineno + 1
    return whole - (doc.end_lineno - doc.lineno + 1 if has_doc else 0)


def test_every_function_can_be_seen_whole():
    long = {
        f"{node.name} in {name}": count_lines(node)
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and count_lines(node) > 50
    }
    assert long == {}
