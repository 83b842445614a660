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
    from regard.config.names import CHOSEN_SETTINGS

    current_section = ""
    for setting in list_settings():
        section, _, name = setting.name.rpartition(".")
        if section != current_section:
            current_section = section
            print(f"\n[{current_section}]")
        choices = f" One of: {setting.choices}." if setting.choices else ""
        print(f"# {setting.description}{choices}")
        print(_format_value(setting.name in CHOSEN_SETTINGS, name, setting.default))


def _format_value(is_chosen: bool, name: str, default: object) -> str:
    """A line of the file. A setting that training chooses is a comment: as a value it would end the choosing."""
    if default is None:
        return f"# {name} is unset"
    line = f"{name} = {json.dumps(default)}"
    return f"# {line}  (unset: chosen from the corpus, the machine and the time)" if is_chosen else line
