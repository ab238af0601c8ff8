"""Figures 1 to 6 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bizol.report.figures import BASE, MODEL, OURS, SMOOTH, THEIRS, canvas, save
from bizol.reproduction import paper
from bizol.reproduction.experiments import METHODS, Experiment, MethodName
from bizol.reproduction.results import Results
from bizol.reproduction.scene import Numbers, Scene

POINTS = 240  # drawn per curve
QUERIES = "response-oracle queries"
FLOOR = -0.55  # where Figure 1 draws the plane of decision and response
COLORS = {"Bi-ZOL": OURS, "VZO": THEIRS}
STYLES = {"Bi-ZOL": "-", "VZO": "--"}
SHADES: dict[MethodName, tuple[str, ...]] = {  # darker as B grows
    "Bi-ZOL": ("#9cc4e4", "#5a9bcf", "#2171b5", "#08306b"),
    "VZO": ("#f2c58f", "#e39a4a", "#c06a13", "#7a3d00"),
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a curve is drawn."""

    color: str
    style: str
    label: str


def figure_1(folder: Path) -> list[Path]:
    """Draw the anchored model at a switching point, over the plane of decision and response."""
    scene = Scene.one_agent()
    with canvas() as plt:
        figure = plt.figure(figsize=(6.6, 4.9))
        axes = figure.add_axes((-0.02, 0.0, 1.0, 1.0), projection="3d", computed_zorder=False)
        _draw_surfaces(axes, scene)
        _draw_curves_in_space(axes, scene)
        axes.set_xlabel(r"decision $u$")
        axes.set_ylabel(r"response $y$")
        axes.zaxis.set_rotate_label(False)
        axes.set_zlabel(r"$\varphi$")
        axes.set_zlim(FLOOR, 2.4)
        axes.locator_params(nbins=4)
        axes.view_init(elev=24, azim=-58)
        axes.grid(visible=False)
        axes.legend(loc="upper left", bbox_to_anchor=(0.02, 0.97))
        return save(figure, folder, "figure-1")


def _draw_surfaces(axes: Any, scene: Scene) -> None:
    """Draw φ and its tangent plane at the anchor."""
    x, y = scene.x, scene.anchor_response
    u, v = np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-0.9, 0.9, 41))
    phi = scene.phi(u, v)
    axes.plot_surface(u, v, phi, color=BASE, alpha=0.10, linewidth=0)
    axes.plot_wireframe(u, v, phi, color=BASE, alpha=0.3, linewidth=0.4, rstride=5, cstride=5)
    u, v = np.meshgrid(x + np.array([-0.8, 0.8]), y + np.array([-1.0, 0.3]))
    axes.plot_surface(u, v, scene.tangent(u, v), color="0.5", alpha=0.25, linewidth=0)
    height = scene.tangent(x - 0.7, y + 0.3) + 0.06
    axes.text(x - 0.7, y + 0.3, height, r"tangent plane $T_x$", color="0.3")


def _draw_curves_in_space(axes: Any, scene: Scene) -> None:
    """Draw the response on the floor, and above it φ̃ and its models near the anchor."""
    x, y, height = scene.x, scene.anchor_response, scene.anchor_value
    near = np.abs(scene.u - x) <= 0.8
    u, smoothed_y = scene.u, scene.smoothed_y
    axes.plot(u, scene.y, FLOOR, color=OURS, label=r"response $y(u)$")
    label = r"smoothed response $y_\delta(u)$"
    axes.plot(u, smoothed_y, FLOOR, ":", color=OURS, label=label)
    label = r"$\tilde{\varphi}(u)=\varphi(u,y(u))$"
    axes.plot(u, scene.y, scene.hyper, color=BASE, linewidth=2.4, label=label)
    label = r"anchored model $Q_x(u)$"
    axes.plot(u[near], scene.y[near], scene.model[near], color=MODEL, label=label)
    axes.plot(
        u[near],
        smoothed_y[near],
        scene.smoothed[near],
        "--",
        color=SMOOTH,
        linewidth=1.9,
        label=r"smoothed model $Q_{x,\delta}(u)$",
    )
    axes.plot([x, x], [y, y], [FLOOR, height], ":", color="0.3", linewidth=0.9)
    axes.scatter([x, x], [y, y], [FLOOR, height], color="black", s=16)
    axes.text(x + 0.05, y + 0.05, height + 0.1, r"$(x, y(x))$")


def figure_2(folder: Path) -> list[Path]:
    """Draw the response at a switching point, and the slope of Q_{x,δ} in the Clarke set."""
    scene = Scene.one_agent()
    with canvas() as plt:
        figure, (top, bottom) = plt.subplots(
            2, 1, figsize=(4.6, 5.6), sharex=True, layout="constrained"
        )
        _draw_response(top, scene)
        _draw_models(bottom, scene)
        for axes in (top, bottom):
            left, right = scene.x - scene.delta, scene.x + scene.delta
            axes.axvspan(left, right, color="0.9", zorder=0, linewidth=0)
            axes.grid(visible=False)
        top.text(scene.x, 0.86, r"$B_\delta(x)$", ha="center", va="top")
        top.locator_params(nbins=5)
        low, high = scene.clarke
        direction = rf"g_\delta(x)={scene.slope:.2f}"
        clarke = rf"\partial^c\tilde{{\varphi}}(x)=[{low:.2f},\,{high:.2f}]"
        bottom.set_title(rf"${direction}\in{clarke}$", fontsize=10)
        bottom.set(xlabel=r"decision $u$", ylabel=r"value", ylim=(-0.3, 2.2))
        bottom.legend(loc="upper right", ncols=2)
        return save(figure, folder, "figure-2")


def _draw_response(axes: Any, scene: Scene) -> None:
    """Draw the response and its smoothing over the level lines of φ."""
    u, v = np.meshgrid(np.linspace(-1, 1, 121), np.linspace(-0.9, 0.9, 121))
    axes.contour(u, v, scene.phi(u, v), levels=12, colors="0.75", linewidths=0.7)
    axes.plot(scene.u, scene.y, color=OURS, label=r"$y(u)$")
    axes.plot(scene.u, scene.smoothed_y, "--", color=SMOOTH, label=r"$y_\delta(u)$")
    axes.plot(scene.x, scene.anchor_response, "o", color="black", markersize=4)
    axes.set_ylabel(r"response $y$")
    axes.legend(loc="lower right")


def _draw_models(axes: Any, scene: Scene) -> None:
    """Draw φ̃ and its models, and the slopes that the Clarke subdifferential allows at x."""
    x, height = scene.x, scene.anchor_value
    reach = np.array([-0.55, 0.55])
    low, high = scene.clarke
    steep, flat = height + high * reach, height + low * reach
    clarke = r"$\partial^c\tilde{\varphi}(x)$"
    axes.fill_between(x + reach, steep, flat, color="#f4d35e", alpha=0.6, linewidth=0, label=clarke)
    for edge in (steep, flat):
        corners = [edge[0], height, edge[1]]
        axes.plot(x + np.array([-0.55, 0, 0.55]), corners, color="0.45", linewidth=0.7)
    axes.plot(scene.u, scene.hyper, color=BASE, linewidth=2.2, label=r"$\tilde{\varphi}(u)$")
    axes.plot(scene.u, scene.model, "-.", color=MODEL, label=r"$Q_x(u)$")
    axes.plot(scene.u, scene.smoothed, "--", color=SMOOTH, label=r"$Q_{x,\delta}(u)$")
    slope = height + scene.slope * reach
    axes.plot(x + reach, slope, color="black", linewidth=1.2, label=r"slope $g_\delta(x)$")
    axes.plot(x, height, "o", color="black", markersize=4)


def figure_3(results: Results, folder: Path) -> list[Path]:
    """Draw the best gaps so far on the box response: validation gap above, Clarke gap below."""
    with canvas() as plt:
        figure, (top, bottom) = plt.subplots(
            2, 1, figsize=(5.6, 6.6), sharex=True, layout="constrained"
        )
        top.set_yscale("log")
        bottom.set_yscale("log")
        for index, batch in enumerate(paper.BATCHES):
            queries = results.cell("box", "Bi-ZOL", batch).queries
            look = Look(color=SHADES["Bi-ZOL"][index], style="-", label=f"B={batch}")
            _draw_band(top, queries, results.validation("box", batch), look)
        for method in METHODS:
            for index, batch in enumerate(paper.BATCHES):
                queries = results.cell("box", method, batch).queries
                look = Look(color=SHADES[method][index], style=STYLES[method], label=f"B={batch}")
                _draw_band(bottom, queries, results.clarke(method, batch), look)
        for method in METHODS:
            bottom.plot([], [], STYLES[method], color=SHADES[method][2], label=method)
        for axes in (top, bottom):
            axes.margins(x=0.01)
        top.set_ylabel(r"$\widehat{\mathcal{G}}^{\,\mathrm{val}}_{\delta,\mathrm{best}}(x_k)$")
        bottom.set_ylabel(r"$\mathcal{G}^{\,c}_{\mathrm{best}}(x_k)$")
        bottom.set_xlabel(QUERIES)
        top.plot([], [], color=SHADES["Bi-ZOL"][2], label="Bi-ZOL")
        _label_ends(figure, top, bottom)
        return save(figure, folder, "figure-3")


def figure_4(results: Results, folder: Path) -> list[Path]:
    """Draw the hyperobjective on the box response."""
    return _draw_trajectories(results, "box", folder, "figure-4")


def figure_5(results: Results, folder: Path) -> list[Path]:
    """Draw the hyperobjective on the ball response."""
    return _draw_trajectories(results, "ball", folder, "figure-5")


def figure_6(results: Results, folder: Path) -> list[Path]:
    """Draw the normalized gaps over the grid of dimensions."""
    grid = results.grid()
    with canvas() as plt:
        figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.2), sharey=True, layout="constrained")
        top = max(0.6, float(grid["VZO"].mean(axis=-1).max()))
        for axes, method in zip(panels, METHODS, strict=True):
            table = grid[method].mean(axis=-1)  # (n, m)
            image = axes.imshow(
                table, cmap="Blues", vmin=0, vmax=top, aspect="auto", origin="lower"
            )
            for (row, column), value in np.ndenumerate(table):
                ink = "white" if value > 0.6 * top else "black"  # legible on dark and light cells
                axes.text(column, row, f"{value:.4f}", ha="center", va="center", color=ink)
            axes.set_xticks(range(len(paper.LOWER)), [str(m) for m in paper.LOWER])
            axes.set_yticks(range(len(paper.UPPER)), [str(n) for n in paper.UPPER])
            axes.set_title(rf"{method}, $\mathrm{{NG}}_{{\mathrm{{obj}}}}(n,m)$")
            axes.set_xlabel(r"lower-level dimension $m$")
            axes.grid(visible=False)
            axes.spines[:].set_visible(False)
        panels[0].set_ylabel(r"upper-level dimension $n$")
        figure.colorbar(image, ax=panels, label="normalized objective gap", shrink=0.9)
        return save(figure, folder, "figure-6")


def _draw_trajectories(
    results: Results, response: Experiment, folder: Path, name: str
) -> list[Path]:
    with canvas() as plt:
        figure, panels = plt.subplots(
            2, 2, figsize=(6.4, 4.8), sharex=True, sharey=True, layout="constrained"
        )
        for axes, batch in zip(panels.flat, paper.BATCHES, strict=True):
            for method in reversed(METHODS):
                cell = results.cell(response, method, batch)
                look = Look(color=COLORS[method], style=STYLES[method], label=method)
                _draw_band(axes, cell.queries, cell.values, look)
            axes.set_title(f"B = {batch}")
            axes.margins(x=0.01)
        for axes in panels[1]:
            axes.set_xlabel(QUERIES)
        for axes in panels[:, 0]:
            axes.set_ylabel(r"$\tilde{\varphi}(x_k)$")
        panels[0, 1].legend(loc="upper right")
        return save(figure, folder, name)


def _draw_band(axes: Any, queries: NDArray[np.int64], curves: Numbers, look: Look) -> None:
    """Draw the mean over the runs with a band of one standard deviation."""
    rows = np.unique(np.linspace(0, len(queries) - 1, POINTS).astype(int))
    mean, deviation = curves[rows].mean(axis=1), curves[rows].std(axis=1, ddof=1)
    axes.plot(queries[rows], mean, look.style, color=look.color, label=look.label)
    low, high = mean - deviation, mean + deviation
    if axes.get_yscale() == "log":
        low = np.maximum(low, 0.2 * mean)  # a logarithmic axis cannot show zero or less
    axes.fill_between(queries[rows], low, high, color=look.color, alpha=0.2, linewidth=0)


def _label_ends(figure: Any, *panels: Any) -> None:
    """Write B beside the right end of every curve, moved apart where ends are close."""
    figure.canvas.draw()
    for axes in panels:
        lines = [line for line in axes.get_lines() if line.get_label().startswith("B=")]
        ends = sorted(
            (float(axes.transData.transform((0, line.get_ydata()[-1]))[1]), index)
            for index, line in enumerate(lines)
        )
        lowest = -np.inf
        for height, index in ends:
            line = lines[index]
            lowest = max(height, lowest + 13)  # pixels: the height of a label
            x, y = line.get_xdata()[-1], line.get_ydata()[-1]
            axes.annotate(
                line.get_label(),
                (x, y),
                xytext=(6, (lowest - height) * 72 / figure.dpi),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                annotation_clip=False,
            )
        handles = [line for line in axes.get_lines() if not line.get_label().startswith("B=")]
        axes.legend(handles=handles, loc="upper right")
