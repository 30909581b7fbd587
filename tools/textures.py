#!/usr/bin/env python3
"""usage: tools/textures.py [DIR]: draws the textures of the scenes into DIR (scenes/textures), from
formulas alone. Needs numpy and Pillow. The files in the repository are its output."""

import os
import sys

import numpy as np
from PIL import Image

WALNUT_DARK, WALNUT_LIGHT = np.array([0.034, 0.0155, 0.0082]), np.array([0.205, 0.104, 0.054])


def srgb(linear):
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 1e-9) ** (1 / 2.4) - 0.055)


def image(values):
    return Image.fromarray((np.clip(values, 0, 1) * 255 + 0.5).astype("uint8"))


def heights(values):
    """16 bits: the slopes of 8 are so coarse that caustics show them."""
    return Image.fromarray((np.clip(values, 0, 1) * 65535 + 0.5).astype("uint16"))


def smoothstep(t):
    t = np.clip(t, 0, 1)
    return t * t * (3 - 2 * t)


def noise(shape, cells, seed):
    """Value noise that repeats, with `cells` lattice periods in each direction."""
    lattice = np.random.default_rng(seed).random(cells)
    at = [np.arange(n) * c / n for n, c in zip(shape, cells)]
    low = [a.astype(int) for a in at]
    y, x = smoothstep(at[0] - low[0])[:, None], smoothstep(at[1] - low[1])[None]
    (y0, x0), (y1, x1) = [l % c for l, c in zip(low, cells)], [(l + 1) % c for l, c in zip(low, cells)]
    top = lattice[np.ix_(y0, x0)] * (1 - x) + lattice[np.ix_(y0, x1)] * x
    bottom = lattice[np.ix_(y1, x0)] * (1 - x) + lattice[np.ix_(y1, x1)] * x
    return top * (1 - y) + bottom * y


def plank(height, width, seed):
    """One plank: annual rings cut by a plane that bends, fibres, pores, and dark joints."""
    rng = np.random.default_rng(seed)
    shape = (height, width)
    y = np.linspace(-0.5, 0.5, height)[:, None] + rng.uniform(-0.3, 0.3)
    bend = noise(shape, (2, 5), seed + 1) - 0.5
    depth = 0.32 + 0.3 * (noise(shape, (3, 3), seed + 2) - 0.5)
    rings = np.hypot(y + 0.45 * bend, depth) * rng.uniform(15, 22) + 0.35 * noise(shape, (12, 9), seed + 3)
    phase = rings % 1
    late = np.where(phase < 0.85, phase / 0.85, (1 - phase) / 0.15) ** 2
    fibre = 0.6 * noise(shape, (height // 2, 40), seed + 4) + 0.4 * noise(shape, (height // 5, 110), seed + 5)
    pore = noise(shape, (height // 2, 130), seed + 6) > 0.88
    tone = 0.42 - 0.32 * late + 0.42 * (fibre - 0.5) + 0.25 * (noise(shape, (3, 4), seed + 7) - 0.5)
    tone = np.clip(tone + rng.uniform(-0.06, 0.06), 0, 1)[..., None]
    joint = np.clip(np.minimum(np.arange(height), height - 1 - np.arange(height)) / 3 + 0.1, 0, 1)
    return (WALNUT_DARK + tone * (WALNUT_LIGHT - WALNUT_DARK)) * np.where(pore, 0.55, 1)[..., None] * joint[:, None, None]


def walnut(width=1024, height=1536, planks=5):
    """Planks along u; pixels are longer than wide, as the grain is."""
    rows = np.linspace(0, height, planks + 1).astype(int)
    parts = [np.roll(plank(b - a, width, 100 * i + 7), 311 * i, 1) for i, (a, b) in enumerate(zip(rows, rows[1:]))]
    return image(srgb(np.concatenate(parts)))


def ribs(width=96, height=512):
    """Heights of one rib of the cognac glass: u around it, v along its outline, which has ribs on the
    outside of the bowl alone."""
    u, v = (np.arange(width) + 0.5) / width, 1 - (np.arange(height) + 0.5) / height
    strength = smoothstep((v - 0.261) / 0.079) * (1 - smoothstep((v - 0.461) / 0.094))
    return heights(0.5 + 0.5 * strength[:, None] * np.cos(2 * np.pi * u))


def glow(height=32):
    """The sky after sunset, from the horizon (v = 0) upwards."""
    v = (1 - (np.arange(height) + 0.5) / height)[:, None]
    low, middle, high = np.array([1, 0.5, 0.16]), np.array([0.5, 0.17, 0.07]), np.array([0.05, 0.045, 0.09])
    colour = np.where(v < 0.45, low + (middle - low) * v / 0.45, middle + (high - middle) * (v - 0.45) / 0.55)
    return image(np.repeat(srgb(colour)[:, None], 4, 1))


def tile(side=48):
    """A pool's tile with its joints."""
    edge = np.minimum(np.arange(side), side - 1 - np.arange(side))
    inside = np.clip((np.minimum.outer(edge, edge) - 0.5) / 1.5, 0, 1)[..., None]
    return image((inside * [0.10, 0.52, 0.60] + (1 - inside) * [0.78, 0.80, 0.80]) ** (1 / 2.2))


def waves(side=160, count=36):
    """Heights of waves in all directions that repeat."""
    rng = np.random.default_rng(5)
    y, x = np.mgrid[0:side, 0:side] / side
    height = np.zeros((side, side))
    for _ in range(count):
        frequency, angle = rng.uniform(2, 9), rng.uniform(0, 2 * np.pi)
        kx, ky = round(frequency * np.cos(angle)), round(frequency * np.sin(angle))
        height += np.cos(2 * np.pi * (kx * x + ky * y) + rng.uniform(0, 2 * np.pi)) / max(np.hypot(kx, ky), 1) ** 1.6
    return heights((height - height.min()) / np.ptp(height))


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "scenes", "textures")
    walnut().save(os.path.join(folder, "walnut.jpg"), quality=68)
    for draw in (ribs, glow, tile, waves):
        draw().save(os.path.join(folder, draw.__name__ + ".png"), optimize=True)


if __name__ == "__main__":
    main()
