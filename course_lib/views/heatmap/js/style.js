export const STYLE = `
:host { display: block; }
.static { color-scheme: light dark; background: var(--paper); }
figure { margin: 0; padding: 10px 12px; background: var(--paper); color: var(--ink); border-radius: 4px;
  font: 13px/1.45 system-ui, "Segoe UI", "Noto Sans", sans-serif; box-sizing: border-box;
  max-width: 100%; position: relative; overflow: hidden; }
figcaption { font-weight: 650; margin-bottom: 4px; overflow-wrap: anywhere; }
.bar { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; min-height: 28px; }
.bar label { display: inline-flex; gap: 6px; align-items: center; color: var(--muted); }
button, select, input { font: inherit; color: inherit; accent-color: var(--accent); margin: 0; }
button, select, input[type=number] { background: var(--paper); border: 1px solid var(--muted);
  border-radius: 5px; min-height: 24px; padding: 0 7px; box-sizing: border-box; color: var(--ink); }
button { min-width: 26px; cursor: pointer; }
button:hover, select:hover { border-color: var(--ink); }
input[type=number] { width: 5.2em; padding-right: 2px; }
input[type=checkbox] { width: 18px; height: 24px; }
.plot { position: relative; margin: 4px 0; width: fit-content; touch-action: pan-y;
  cursor: crosshair; user-select: none; }
.plot canvas { display: block; }
.plot canvas + canvas { position: absolute; inset: 0; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.foot { display: flex; flex-wrap: wrap; gap: 4px 20px; justify-content: space-between;
  align-items: flex-start; }
.readout { flex: 1 1 20em; min-height: 2.9em; min-width: 0; overflow-wrap: anywhere; }
.help { color: var(--muted); }
.finger { display: none; }
@media (pointer: coarse) { .finger { display: inline; } .mouse { display: none; } }
.help summary { list-style: none; cursor: pointer; width: 22px; line-height: 22px; text-align: center;
  border: 1px solid var(--muted); border-radius: 50%; }
.help[open] { flex-basis: 100%; order: 1; }
.help[open] summary { margin-bottom: 4px; }
.readout b { font-weight: 650; }
.muted, .tick { color: var(--muted); }
.legend { flex: 0 0 auto; font-size: 12px; }
.ramp { width: 250px; height: 11px; border: 1px solid var(--muted); box-sizing: border-box; }
.ticks { position: relative; height: 1.5em; width: 250px; white-space: nowrap; font-variant-numeric: tabular-nums; }
.ticks span { position: absolute; left: var(--at); transform: translateX(calc(-1 * var(--at))); padding-top: 2px; }
.ticks span::before { content: ""; position: absolute; left: min(var(--at), 100% - 1px); top: 0; height: 3px;
  border-left: 1px solid var(--muted); }
.sentence { display: grid; grid-template-columns: auto 1fr; gap: 0 10px; padding: 3px 0; }
.sentence > .side { display: flex; gap: 8px; }
.chip { width: 62px; height: 22px; position: relative; text-align: right; padding: 1px 6px 0 0;
  box-sizing: border-box; font-variant-numeric: tabular-nums; font-size: 12px;
  border-radius: 3px; overflow: hidden; flex: none;
  background: color-mix(in srgb, var(--muted) 9%, var(--paper)); }
.chip i { position: absolute; left: 0; bottom: 0; height: 4px; background: var(--accent); }
.sentence { max-width: 64em; }
.words { line-height: 1.75; font-size: 14px; overflow-wrap: anywhere; min-width: 0; }
:host(.view) { color-scheme: light dark; }
:host(.view) figure:has(> .tip) { overflow: visible; }
.tinted { border-radius: 4px; }
@supports not (color: light-dark(white, oklch(from red calc(pow(l, 0.6)) c h))) { /* no tint of the night */
  .tinted { --ink: var(--map-ink); --muted: var(--map-muted); background: white; color: var(--ink); } }
@media (forced-colors: active) { /* colours that mean something stay, on their own paper */
  .tinted, .ramp, .chip { forced-color-adjust: none; background: var(--paper); color: var(--ink); } }
.word { padding: 1px 3px; border-radius: 3px; cursor: default; unicode-bidi: isolate; }
.pressable .word { cursor: pointer; }
.word:hover, .word:focus { outline: 2px solid var(--ink); outline-offset: 0; }
.word[aria-selected=true]:not(.erased) { box-shadow: inset 0 -3px var(--accent); }
.word.unknown { text-decoration: underline dotted; text-underline-offset: 3px; }
.word.erased { text-decoration: line-through 2px; color: var(--muted); }
.word.unread { font-style: italic; color: var(--muted); }
.rest { color: var(--muted); max-width: 64em; margin: 4px 0; overflow-wrap: anywhere; }
.rest summary { cursor: pointer; width: fit-content; }
.rest p { margin: 4px 0; font-size: 14px; line-height: 1.75; padding: 0 4px;
  border-left: 3px solid var(--muted); }
.tip { position: absolute; z-index: 1; background: var(--ink); color: var(--paper); padding: 2px 8px;
  border-radius: 4px; font-size: 12px; pointer-events: none; width: max-content; max-width: 90%;
  overflow-wrap: anywhere; border: 1px solid transparent; }
.tip:empty { display: none; }
.static figure { padding: 8px 4px; }
`;

export const FONT = 'system-ui, "Segoe UI", "Noto Sans", sans-serif';
