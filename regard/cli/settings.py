"""regard settings"""

import json


def settings() -> None:
    """Print every setting with its default and its meaning, as a config file to start from."""
    from regard.config import describe

    group = ""
    for setting in describe():
        home, _, name = setting.name.rpartition(".")
        if home != group:
            group = home
            print(f"\n[{group}]")
        choices = f" One of: {setting.choices}." if setting.choices else ""
        print(f"# {setting.description}{choices}")
        print(f"# {name} is unset" if setting.default is None else f"{name} = {json.dumps(setting.default)}")
