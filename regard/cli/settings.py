"""regard settings"""

import json


def settings() -> None:
    """Print every setting with its default and description, as a config file to start from.

    Examples:
      regard settings
      regard settings > config.toml
      regard train config.toml train.en train.fr

    Read more: docs/results/recipes.md
    """
    from regard.api.planning import settings as list_settings

    current_section = ""
    for setting in list_settings():
        section, _, name = setting.name.rpartition(".")
        if section != current_section:
            current_section = section
            print(f"\n[{current_section}]")
        choices = f" One of: {setting.choices}." if setting.choices else ""
        print(f"# {setting.description}{choices}")
        print(f"# {name} is unset" if setting.default is None else f"{name} = {json.dumps(setting.default)}")
