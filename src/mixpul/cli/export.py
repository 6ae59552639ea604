"""`mixpul export`: a model as an ONNX file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mixpul.cli.options import ForceOption, JsonOption, ModelArgument, Reading, ThresholdOption

__all__ = ["export"]


def export(
    model: ModelArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The ONNX file to write.")],
    *,
    threshold: ThresholdOption = None,
    prior: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="For the output `probability`: share of positives among the unlabeled rows; by "
            "default that of the model.",
        ),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Compare scores on this table, not on made-up rows."),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    reading: Reading,
) -> None:
    """Write a model as an ONNX file, from columns to scores, after a check in onnxruntime.

    No file is written if a score differs from that of `mixpul predict` by more than 1e-5.

    Example: [bold]mixpul export model.mixpul model.onnx --check new.csv[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul.cli._inputs import load_any_model
    from mixpul.cli._messages import note, print_json, speak_warnings
    from mixpul.cli._outputs import check_outputs, explain_full_disk
    from mixpul.cli._thresholds import find_threshold
    from mixpul.deploy import export_onnx

    check_outputs([out], [str(model), *([check] if check else [])], force)
    fitted, info = load_any_model(model)
    limit = None if threshold is None else find_threshold(threshold, info)
    rows = None if check is None else _read_rows(check, fitted, info, reading)
    with explain_full_disk(repr(str(out))), speak_warnings():
        done = export_onnx(fitted, out, threshold=limit, prior=prior, check=rows)
    if as_json:
        print_json({**done._asdict(), "agreement": done.agreement._asdict(), "output": str(out)})
        return
    n, difference = done.agreement.rows, done.agreement.difference
    print(f"Inputs: {', '.join(entry['name'] for entry in done.inputs)}")
    print(f"Outputs: {', '.join(done.outputs)}; label is 1 above the score {done.threshold:.4g}")
    kind = "made-up rows" if check is None else f"rows of {check}"
    print(f"onnxruntime agrees on {n:,} {kind}: largest difference {difference:.1g}")
    if "probability" not in done.outputs:
        note("There is no output `probability`: the model has no class prior; give --prior.")
    print(f"Model: {out}")


def _read_rows(table: str, model: Any, info: dict[str, Any], reading: Reading) -> Any:
    """Read a table as `mixpul predict` does."""
    from sklearn.pipeline import Pipeline

    from mixpul.tables import read_table

    style = reading.fill_from(info.get("reading", {})).to_arguments()
    if isinstance(model, Pipeline):
        return read_table(table, kinds=model[0].kinds_, **style)
    raise typer.BadParameter("--check needs a model of a table; this one takes rows of numbers.")
