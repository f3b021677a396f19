"""Stands in for ComfyUI's folder_paths: the folders of models by their names, and the files in them."""

import os

base = os.environ.get("MODELS", "")
folder_names_and_paths = {
    name: ([os.path.join(base, name)], {".safetensors"}) for name in ("checkpoints", "loras", "configs")
}


def get_filename_list(folder_name):
    folders, _ = folder_names_and_paths[folder_name]
    return sorted(name for folder in folders if os.path.isdir(folder) for name in os.listdir(folder))


def get_full_path(folder_name, filename):
    for folder in folder_names_and_paths[folder_name][0]:
        if os.path.isfile(os.path.join(folder, filename)):
            return os.path.join(folder, filename)
    return None
