"""Figures 1 to 6 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bizol.feasible_sets import Box
from bizol.followers import BoxProjection
from bizol.problem import Objective, Problem
from bizol.report.figures import BASE, MODEL, OURS, SMOOTH, THEIRS, canvas, save
from bizol.reproduction import paper
from bizol.reproduction.experiments import METHODS, Experiment, MethodName
from bizol.reproduction.results import Results
from bizol.structure.anchored_model import AnchoredModel
from bizol.structure.clarke import clarke_subdifferential

POINTS = 240  # drawn per curve
QUERIES = "response-oracle queries"
LOOKS = {"Bi-ZOL": (OURS, "-"), "VZO": (THEIRS, "--")}
SHADES: dict[MethodName, tuple[str, ...]] = {  # darker as B grows
    "Bi-ZOL": ("#9cc4e4", "#5a9bcf", "#2171b5", "#08306b"),
    "VZO": ("#f2c58f", "#e39a4a", "#c06a13", "#7a3d00"),
}

Numbers = NDArray[np.float64]


def figure_1(folder: Path) -> list[Path]:
    """Draw the anchored model at a switching point, over the plane of decision and response."""
    scene = Scene.one_agent()
    x, y, height = scene.x, scene.anchor_response, scene.anchor_value
    floor = -0.55
    near = np.abs(scene.u - x) <= 0.8
    with canvas() as plt:
        figure = plt.figure(figsize=(6.6, 4.9))
        axes = figure.add_axes((-0.02, 0.0, 1.0, 1.0), projection="3d", computed_zorder=False)
        u, v = np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-0.9, 0.9, 41))
        axes.plot_surface(u, v, scene.phi(u, v), color=BASE, alpha=0.10, linewidth=0)
        axes.plot_wireframe(
            u, v, scene.phi(u, v), color=BASE, alpha=0.3, linewidth=0.4, rstride=5, cstride=5
        )
        u, v = np.meshgrid(x + np.array([-0.8, 0.8]), y + np.array([-1.0, 0.3]))
        axes.plot_surface(u, v, scene.tangent(u, v), color="0.5", alpha=0.25, linewidth=0)
        axes.text(
            x - 0.7,
            y + 0.3,
            scene.tangent(x - 0.7, y + 0.3) + 0.06,
            r"tangent plane $T_x$",
            color="0.3",
        )
        axes.plot(scene.u, scene.y, floor, color=OURS, label=r"response $y(u)$")
        axes.plot(
            scene.u,
            scene.smoothed_y,
            floor,
            ":",
            color=OURS,
            label=r"smoothed response $y_\delta(u)$",
        )
        axes.plot(
            scene.u,
            scene.y,
            scene.hyper,
            color=BASE,
            linewidth=2.4,
            label=r"$\tilde{\varphi}(u)=\varphi(u,y(u))$",
        )
        axes.plot(
            scene.u[near],
            scene.y[near],
            scene.model[near],
            color=MODEL,
            label=r"anchored model $Q_x(u)$",
        )
        axes.plot(
            scene.u[near],
            scene.smoothed_y[near],
            scene.smoothed[near],
            "--",
            color=SMOOTH,
            linewidth=1.9,
            label=r"smoothed model $Q_{x,\delta}(u)$",
        )
        axes.plot([x, x], [y, y], [floor, height], ":", color="0.3", linewidth=0.9)
        axes.scatter([x, x], [y, y], [floor, height], color="black", s=16)
        axes.text(x + 0.05, y + 0.05, height + 0.1, r"$(x, y(x))$")
        axes.set_xlabel(r"decision $u$")
        axes.set_ylabel(r"response $y$")
        axes.zaxis.set_rotate_label(False)
        axes.set_zlabel(r"$\varphi$")
        axes.set_zlim(floor, 2.4)
        axes.locator_params(nbins=4)
        axes.view_init(elev=24, azim=-58)
        axes.grid(visible=False)
        axes.legend(loc="upper left", bbox_to_anchor=(0.02, 0.97))
        return save(figure, folder, "figure-1")


def figure_2(folder: Path) -> list[Path]:
    """Draw the response at a switching point, and the slope of Q_{x,δ} within the Clarke subdifferential."""
    scene = Scene.one_agent()
    x, height = scene.x, scene.anchor_value
    with canvas() as plt:
        figure, (top, bottom) = plt.subplots(
            2, 1, figsize=(4.6, 5.6), sharex=True, layout="constrained"
        )
        u, v = np.meshgrid(np.linspace(-1, 1, 121), np.linspace(-0.9, 0.9, 121))
        top.contour(u, v, scene.phi(u, v), levels=12, colors="0.75", linewidths=0.7)
        top.plot(scene.u, scene.y, color=OURS, label=r"$y(u)$")
        top.plot(scene.u, scene.smoothed_y, "--", color=SMOOTH, label=r"$y_\delta(u)$")
        top.plot(x, scene.anchor_response, "o", color="black", markersize=4)
        top.set_ylabel(r"response $y$")
        top.legend(loc="lower right")
        reach = np.array([-0.55, 0.55])
        low, high = scene.clarke
        steep, flat = height + high * reach, height + low * reach
        bottom.fill_between(
            x + reach,
            steep,
            flat,
            color="#f4d35e",
            alpha=0.6,
            linewidth=0,
            label=r"$\partial^c\tilde{\varphi}(x)$",
        )
        bottom.plot(
            x + np.array([-0.55, 0, 0.55]),
            [steep[0], height, steep[1]],
            color="0.45",
            linewidth=0.7,
        )
        bottom.plot(
            x + np.array([-0.55, 0, 0.55]), [flat[0], height, flat[1]], color="0.45", linewidth=0.7
        )
        bottom.plot(scene.u, scene.hyper, color=BASE, linewidth=2.2, label=r"$\tilde{\varphi}(u)$")
        bottom.plot(scene.u, scene.model, "-.", color=MODEL, label=r"$Q_x(u)$")
        bottom.plot(scene.u, scene.smoothed, "--", color=SMOOTH, label=r"$Q_{x,\delta}(u)$")
        bottom.plot(
            x + reach,
            height + scene.slope * reach,
            color="black",
            linewidth=1.2,
            label=r"slope $g_\delta(x)$",
        )
        bottom.plot(x, height, "o", color="black", markersize=4)
        for axes in (top, bottom):
            axes.axvspan(x - scene.delta, x + scene.delta, color="0.9", zorder=0, linewidth=0)
            axes.grid(visible=False)
        top.text(x, 0.86, r"$B_\delta(x)$", ha="center", va="top")
        top.locator_params(nbins=5)
        bottom.set_title(
            rf"$g_\delta(x)={scene.slope:.2f}\in\partial^c\tilde{{\varphi}}(x)=[{low:.2f},\,{high:.2f}]$",
            fontsize=10,
        )
        bottom.set(xlabel=r"decision $u$", ylabel=r"value", ylim=(-0.3, 2.2))
        bottom.legend(loc="upper right", ncols=2)
        return save(figure, folder, "figure-2")


def figure_3(results: Results, folder: Path) -> list[Path]:
    """Draw the best gaps so far on the box response: validation gap above, exact Clarke gap below."""
    with canvas() as plt:
        figure, (top, bottom) = plt.subplots(
            2, 1, figsize=(5.6, 6.6), sharex=True, layout="constrained"
        )
        top.set_yscale("log")
        bottom.set_yscale("log")
        for index, batch in enumerate(paper.BATCHES):
            queries = results.cell("box", "Bi-ZOL", batch).queries
            _band(
                top,
                queries,
                results.validation("box", batch),
                SHADES["Bi-ZOL"][index],
                "-",
                f"B={batch}",
            )
        for method in METHODS:
            for index, batch in enumerate(paper.BATCHES):
                queries = results.cell("box", method, batch).queries
                style = LOOKS[method][1]
                _band(
                    bottom,
                    queries,
                    results.clarke(method, batch),
                    SHADES[method][index],
                    style,
                    f"B={batch}",
                )
        for method in METHODS:
            bottom.plot([], [], LOOKS[method][1], color=SHADES[method][2], label=method)
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
    return _trajectories(results, "box", folder, "figure-4")


def figure_5(results: Results, folder: Path) -> list[Path]:
    """Draw the hyperobjective on the ball response."""
    return _trajectories(results, "ball", folder, "figure-5")


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
                dark = value > 0.6 * top
                axes.text(
                    column,
                    row,
                    f"{value:.4f}",
                    ha="center",
                    va="center",
                    color="white" if dark else "black",
                )
            axes.set_xticks(range(len(paper.LOWER)), [str(m) for m in paper.LOWER])
            axes.set_yticks(range(len(paper.UPPER)), [str(n) for n in paper.UPPER])
            axes.set_title(rf"{method}, $\mathrm{{NG}}_{{\mathrm{{obj}}}}(n,m)$")
            axes.set_xlabel(r"lower-level dimension $m$")
            axes.grid(visible=False)
            axes.spines[:].set_visible(False)
        panels[0].set_ylabel(r"upper-level dimension $n$")
        figure.colorbar(image, ax=panels, label="normalized objective gap", shrink=0.9)
        return save(figure, folder, "figure-6")


def _trajectories(results: Results, response: Experiment, folder: Path, name: str) -> list[Path]:
    with canvas() as plt:
        figure, panels = plt.subplots(
            2, 2, figsize=(6.4, 4.8), sharex=True, sharey=True, layout="constrained"
        )
        for axes, batch in zip(panels.flat, paper.BATCHES, strict=True):
            for method in reversed(METHODS):
                cell = results.cell(response, method, batch)
                _band(axes, cell.queries, cell.values, *LOOKS[method], method)
            axes.set_title(f"B = {batch}")
            axes.margins(x=0.01)
        for axes in panels[1]:
            axes.set_xlabel(QUERIES)
        for axes in panels[:, 0]:
            axes.set_ylabel(r"$\tilde{\varphi}(x_k)$")
        panels[0, 1].legend(loc="upper right")
        return save(figure, folder, name)


def _band(
    axes: Any, queries: NDArray[np.int64], curves: Numbers, color: str, style: str, label: str
) -> None:
    """Draw the mean over the runs with a band of one standard deviation."""
    rows = np.unique(np.linspace(0, len(queries) - 1, POINTS).astype(int))
    mean, deviation = curves[rows].mean(axis=1), curves[rows].std(axis=1, ddof=1)
    axes.plot(queries[rows], mean, style, color=color, label=label)
    low = mean - deviation
    if axes.get_yscale() == "log":
        low = np.maximum(low, 0.2 * mean)  # so that the band has an end
    axes.fill_between(queries[rows], low, mean + deviation, color=color, alpha=0.2, linewidth=0)


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
            lowest = max(height, lowest + 13)
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


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """One incentive and one agent with limited capacity, looked at where the agent reaches its limit."""

    problem: Problem
    delta: float
    x: float
    u: Numbers
    y: Numbers  # y(u)
    smoothed_y: Numbers  # y_δ(u)
    hyper: Numbers  # φ̃(u)
    model: Numbers  # Q_x(u)
    smoothed: Numbers  # Q_{x,δ}(u)
    slope: float  # g_δ(x)
    clarke: tuple[float, float]  # ∂^c φ̃(x)
    gradient: tuple[float, float]  # ∇φ(x, y(x))

    @classmethod
    def one_agent(cls, delta: float = 0.3) -> Scene:
        """Return the scene at the decision where the capacity starts to bind."""
        follower = BoxProjection([[1.0]], [0.2], [-2.0], [0.5])
        problem = Problem(Objective(_phi, _phi_x, _phi_y), follower, Box([-1], [1]))
        x = np.array([0.3])  # where u + 0.2 reaches 0.5
        u = np.linspace(-1, 1, 401)
        model = AnchoredModel(problem, x)
        responses = follower(u[:, None])[:, 0]
        generators = clarke_subdifferential(problem, x).generators[:, 0]
        return cls(
            problem=problem,
            delta=delta,
            x=float(x[0]),
            u=u,
            y=responses,
            smoothed_y=np.array([follower.smoothed(np.array([at]), delta).value[0] for at in u]),
            hyper=cls.phi(u, responses),
            model=np.array([model.value(np.array([at])) for at in u]),
            smoothed=np.array([model.smoothed_value(np.array([at]), delta) for at in u]),
            slope=float(model.smoothed_gradient(x, delta).value[0]),
            clarke=(float(generators.min()), float(generators.max())),
            gradient=(float(model.anchor.grad_x[0]), float(model.anchor.grad_y[0])),
        )

    @staticmethod
    def phi(u: Any, y: Any) -> Any:
        """Return φ at scalars, elementwise."""
        return 0.45 * (u - 0.9) ** 2 + 0.9 * (y + 0.35) ** 2

    @property
    def anchor_response(self) -> float:
        """y(x)."""
        return float(np.interp(self.x, self.u, self.y))

    @property
    def anchor_value(self) -> float:
        """φ̃(x)."""
        return float(self.phi(self.x, self.anchor_response))

    def tangent(self, u: Any, y: Any) -> Any:
        """Return T_x, the tangent plane of φ at the anchor."""
        slope_x, slope_y = self.gradient
        return self.anchor_value + slope_x * (u - self.x) + slope_y * (y - self.anchor_response)


def _phi(x: Numbers, y: Numbers) -> float:
    return float(Scene.phi(x[0], y[0]))


def _phi_x(x: Numbers, y: Numbers) -> Numbers:
    return 0.9 * (x - 0.9)


def _phi_y(x: Numbers, y: Numbers) -> Numbers:
    return 1.8 * (y + 0.35)
