// The page reads without this script. It adds readouts of charts, tables that sort and filter, and switches.

import { setUpReadout } from "./readout.js";
import { setUpTable } from "./tables.js";
import { setUpSwitch } from "./switches.js";

document.querySelectorAll(".plot[data-readout]").forEach(setUpReadout);
document.querySelectorAll("table[data-interactive]").forEach(setUpTable);
document.querySelectorAll(".switch").forEach(setUpSwitch);
document.body.dataset.ready = "";
