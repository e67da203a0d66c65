"""What vendors specify of the cards of this class. A table, and no reasoning.

Memory in GiB, bandwidth in GB/s (10^9), dense matrix throughput in TFLOPS/TOPS (sparsity not counted), power in W.
FP16 is that of the matrix units with 16-bit accumulation where a vendor gives both. A source is where a row can be
checked. Where a part exists in several widths, each is a row of its own, told apart by memory.
"""

from __future__ import annotations

from evener.plan.card_spec import CardSpec, Family

AMPERE = "NVIDIA Ampere GA102 architecture whitepaper; https://www.nvidia.com/en-us/geforce/graphics-cards/30-series/"
ADA = "NVIDIA Ada GPU architecture whitepaper; https://www.nvidia.com/en-us/geforce/graphics-cards/40-series/"
BLACKWELL = (
    "NVIDIA RTX Blackwell GPU architecture whitepaper; https://www.nvidia.com/en-us/geforce/graphics-cards/50-series/"
)
TURING = "NVIDIA Turing GPU architecture whitepaper; https://www.nvidia.com/en-us/geforce/graphics-cards/16-series/"
RTX_PRO = "https://www.nvidia.com/en-us/products/workstations/professional-desktop-gpus/rtx-pro-6000/"
RTX_A = "https://www.nvidia.com/en-us/design-visualization/rtx-{}/"
PASCAL = "https://www.nvidia.com/en-us/data-center/tesla-{}/ (data sheet)"
V100 = "https://www.nvidia.com/en-us/data-center/v100/ (data sheet)"
A100 = "https://www.nvidia.com/en-us/data-center/a100/ (data sheet)"
H100 = "https://www.nvidia.com/en-us/data-center/h100/ (data sheet)"
H200 = "https://www.nvidia.com/en-us/data-center/h200/ (data sheet)"
T4 = "https://www.nvidia.com/en-us/data-center/tesla-t4/ (data sheet)"
GB10 = "https://www.nvidia.com/en-us/products/workstations/dgx-spark/ (1 PFLOP of sparse FP4, so 125 dense FP16)"
RADEON = "https://www.amd.com/en/products/graphics/desktops/radeon.html (product pages)"
RADEON_PRO = "https://www.amd.com/en/products/graphics/workstations/radeon-ai-pro.html (product pages)"
RYZEN = "https://www.amd.com/en/products/processors/laptop/ryzen/ai-300-series/amd-ryzen-ai-max-plus-395.html"
APPLE = "https://support.apple.com/specs (bandwidth); operations from cores x clock x 512, which Apple does not publish"
ARC = "https://www.intel.com/content/www/us/en/products/details/discrete-gpus/arc.html (product pages)"
JEDEC = "JEDEC: 8 bytes x channels x transfers per second"


def _card(
    name: str, family: Family, gib: float, gb_per_s: float, fp16: float, int8: float | None, watts: float | None,
    source: str, *also: str,
) -> CardSpec:  # fmt: skip
    return CardSpec(
        name=name, family=family, memory_gib=gib, gb_per_s=gb_per_s, fp16_tflops=fp16, int8_tops=int8, watts=watts,
        source=source, also=also,
    )  # fmt: skip


def _memory(kind: str, channels: int, megatransfers: int) -> CardSpec:
    """Main memory as a device. What a processor multiplies is not specified in comparable terms: unknown."""
    return CardSpec(
        name=f"CPU {channels}x {kind}-{megatransfers}", family="cpu", memory_gib=None,
        gb_per_s=8 * channels * megatransfers / 1000, fp16_tflops=None, int8_tops=None, watts=None, source=JEDEC,
    )  # fmt: skip


CARDS: tuple[CardSpec, ...] = (
    _card("RTX 3060", "cuda", 12, 360, 51.2, 102.4, 170, AMPERE),
    _card("RTX 3070", "cuda", 8, 448, 81.3, 162.6, 220, AMPERE),
    _card("RTX 3080", "cuda", 10, 760, 119, 238, 320, AMPERE),
    _card("RTX 3080", "cuda", 12, 912, 122.5, 245, 350, AMPERE),
    _card("RTX 3080 Ti", "cuda", 12, 912, 136, 273, 350, AMPERE),
    _card("RTX 3090", "cuda", 24, 936, 142, 284, 350, AMPERE),
    _card("RTX 3090 Ti", "cuda", 24, 1008, 160, 320, 450, AMPERE),
    _card("RTX 4060 Ti", "cuda", 8, 288, 88.2, 176.5, 160, ADA),
    _card("RTX 4060 Ti", "cuda", 16, 288, 88.2, 176.5, 165, ADA),
    _card("RTX 4070", "cuda", 12, 504, 116.6, 233.2, 200, ADA),
    _card("RTX 4070 SUPER", "cuda", 12, 504, 141.9, 283.8, 220, ADA),
    _card("RTX 4070 Ti", "cuda", 12, 504, 160.4, 320.7, 285, ADA),
    _card("RTX 4070 Ti SUPER", "cuda", 16, 672, 176.4, 352.8, 285, ADA),
    _card("RTX 4080", "cuda", 16, 716.8, 194.9, 389.9, 320, ADA),
    _card("RTX 4080 SUPER", "cuda", 16, 736.3, 208.9, 417.8, 320, ADA),
    _card("RTX 4090", "cuda", 24, 1008, 330.3, 660.6, 450, ADA),
    _card("RTX 5060 Ti", "cuda", 8, 448, 94.9, 189.8, 180, BLACKWELL),
    _card("RTX 5060 Ti", "cuda", 16, 448, 94.9, 189.8, 180, BLACKWELL),
    _card("RTX 5070", "cuda", 12, 672, 123.5, 247, 250, BLACKWELL),
    _card("RTX 5070 Ti", "cuda", 16, 896, 175.8, 351.5, 300, BLACKWELL),
    _card("RTX 5080", "cuda", 16, 960, 225.1, 450.2, 360, BLACKWELL),
    _card("RTX 5090", "cuda", 32, 1792, 419, 838, 575, BLACKWELL),
    _card("RTX PRO 6000 Blackwell", "cuda", 96, 1792, 503.8, 1007.6, 600, RTX_PRO,
          "RTX PRO 6000", "RTX PRO 6000 Blackwell Workstation Edition"),
    _card("RTX A4000", "cuda", 16, 448, 76.7, 153.4, 140, RTX_A.format("a4000"), "A4000"),
    _card("RTX A6000", "cuda", 48, 768, 154.8, 309.7, 300, RTX_A.format("a6000"), "A6000"),
    _card("GTX 1660", "cuda", 6, 192, 10.0, None, 120, TURING),
    _card("T1200 Laptop GPU", "cuda", 4, 192, 7.3, None, 95, RTX_A.format("laptops")),
    _card("T4", "cuda", 16, 320, 65, 130, 70, T4),
    _card("P40", "cuda", 24, 346, 0.18, 47, 250, PASCAL.format("p40")),
    _card("P100-PCIE-16GB", "hbm", 16, 732, 18.7, None, 250, PASCAL.format("p100"), "P100", "P100-SXM2-16GB"),
    _card("V100-PCIE", "hbm", 16, 900, 112, None, 250, V100, "V100", "V100-PCIE-16GB"),
    _card("V100-PCIE", "hbm", 32, 900, 112, None, 250, V100, "V100", "V100-PCIE-32GB"),
    _card("V100-SXM2", "hbm", 16, 900, 125, None, 300, V100, "V100-SXM2-16GB"),
    _card("V100-SXM2", "hbm", 32, 900, 125, None, 300, V100, "V100-SXM2-32GB"),
    _card("A100-PCIE-40GB", "hbm", 40, 1555, 312, 624, 250, A100, "A100", "A100-SXM4-40GB"),
    _card("A100 80GB PCIe", "hbm", 80, 1935, 312, 624, 300, A100),
    _card("A100-SXM4-80GB", "hbm", 80, 2039, 312, 624, 400, A100),
    _card("H100 PCIe", "hbm", 80, 2000, 756, 1513, 350, H100),
    _card("H100 80GB HBM3", "hbm", 80, 3350, 989, 1979, 700, H100, "H100"),
    _card("H200", "hbm", 141, 4800, 989, 1979, 700, H200),
    _card("GB10", "gb10", 128, 273, 125, 250, 140, GB10, "DGX Spark"),
    _card("RX 6800", "radeon", 16, 512, 32.3, 64.7, 250, RADEON),
    _card("RX 6800 XT", "radeon", 16, 512, 41.5, 82.9, 300, RADEON),
    _card("RX 7900 XT", "radeon", 20, 800, 103, 103, 315, RADEON),
    _card("RX 7900 XTX", "radeon", 24, 960, 122.8, 122.8, 355, RADEON),
    _card("RX 9070 XT", "radeon", 16, 640, 195, 389, 304, RADEON),
    _card("AI PRO R9700", "radeon", 32, 640, 191, 383, 300, RADEON_PRO, "R9700"),
    _card("8060S Graphics", "strix", 128, 256, 59.4, 59.4, 120, RYZEN,
          "8060S", "Strix Halo", "Ryzen AI Max 395", "Ryzen AI Max+ 395", "AMD Ryzen AI Max+ 395 w/ Radeon 8060S",
          "Graphics (RADV GFX1151)", "RADV GFX1151", "gfx1151"),
    _card("M1 Max", "metal", 64, 400, 20.8, None, 115, APPLE),
    _card("M1 Ultra", "metal", 128, 800, 41.6, None, 215, APPLE),
    _card("M2 Max", "metal", 96, 400, 27.2, None, 145, APPLE),
    _card("M2 Ultra", "metal", 192, 800, 54.4, None, 295, APPLE),
    _card("M3 Max", "metal", 36, 300, 24.4, None, 140, APPLE),
    _card("M3 Max", "metal", 96, 300, 24.4, None, 140, APPLE),
    _card("M3 Max", "metal", 48, 400, 32.6, None, 140, APPLE),
    _card("M3 Max", "metal", 64, 400, 32.6, None, 140, APPLE),
    _card("M3 Max", "metal", 128, 400, 32.6, None, 140, APPLE),
    _card("M3 Ultra", "metal", 512, 819, 65.2, None, 270, APPLE),
    _card("M4", "metal", 32, 120, 8.5, None, 65, APPLE),
    _card("M4 Max", "metal", 36, 410, 29.5, None, 145, APPLE),
    _card("M4 Max", "metal", 48, 546, 36.9, None, 145, APPLE),
    _card("M4 Max", "metal", 64, 546, 36.9, None, 145, APPLE),
    _card("M4 Max", "metal", 128, 546, 36.9, None, 145, APPLE),
    _card("A770", "arc", 16, 560, 137.6, 275.3, 225, ARC),
    _card("B580", "arc", 12, 456, 116.5, 233, 190, ARC),
    *(_memory("DDR4", channels, 3200) for channels in (1, 2, 4, 6, 8)),
    *(_memory("DDR5", channels, rate) for rate in (4800, 5600, 6000, 6400) for channels in (1, 2, 4, 8, 12)),
)  # fmt: skip
