"""Tenure for ComfyUI: this folder belongs into ComfyUI's custom_nodes, and the package `tenure` into its Python."""

from tenure.integrations.comfyui import NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS, install

install()

__all__ = ["NODE_CLASS_MAPPINGS", "NODE_DISPLAY_NAME_MAPPINGS"]
