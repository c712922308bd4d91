"""`exactik demo --reach`."""

from __future__ import annotations

from rich.table import Table

from exactik.cli._app import compiling, out, print_json

__all__ = ["show_reach"]


def show_reach(as_json: bool = False) -> None:
    """Pose the built-in human inside its limits and say what happened."""
    from exactik.synthetic import solve_reach

    with compiling():
        result = solve_reach()
    figure, history = result.problem.skeleton, result.history
    assert history is not None
    if as_json:
        answer = {
            **{"reached": result.reached, "why": result.why, "errors": result.goal_errors},
            **{"iterations": result.iterations, "evaluations": result.evaluations},
            **{"cost": result.cost, "projected_gradient": result.projected_gradient},
            **{"seconds": result.seconds, "active_limits": dict(result.active_limits)},
        }
        print_json(answer)
        return
    sizes = f"{len(figure.bones)} bones, {figure.nv} dofs, {len(figure.markers)} markers"
    out.print(f"[bold]{figure.name}[/bold]: {sizes}\n", highlight=False)
    table = Table("step", "cost", "relative gradient", "damping", box=None, pad_edge=False)
    for column in table.columns:
        column.justify = "right"
    rows = zip(history.cost, history.projected_gradient, history.control, strict=True)
    for n, (cost, slope, damping) in enumerate(rows):
        shown = f"{damping:.0e}" if damping > 0 else "–"
        table.add_row(str(n), f"{cost:.3e}", f"{slope:.1e}", shown)
    out.print(table)
    out.print()
    for name, error in result.errors_in_words.items():
        out.print(f"  {name:28} off by {error}", highlight=False)
    limits = ", ".join(f"{dof} ({side})" for dof, side in result.active_limits.items())
    out.print(f"  at a limit: {limits if limits != '' else 'no dof'}", highlight=False)
    effort = f"{result.evaluations} evaluations, {1e3 * result.seconds:.1f} ms"
    out.print(f"\n[bold]{result.why}[/bold] ({effort})", highlight=False, soft_wrap=True)
