/** Styles for a popup 400 to 600 pixels wide, in light and dark mode. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f4f5f7; --paper: #fff; --ink: #1c1e21; --quiet: #5d646e; --line: #d9dce1;
  --main: #5b3fd6; --on-main: #fff; --mark: #ffd84d; --on-mark: #3a2e00; --alert: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15171a; --paper: #1f2226; --ink: #e8eaed; --quiet: #a0a7b1; --line: #383d44;
    --main: #a794ff; --on-main: #17103a; --mark: #5c4a00; --on-mark: #ffe9a3; --alert: #ff9d94;
  }
}
html { scroll-padding-bottom: 5rem; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
header { padding: 8px 16px; background: var(--mark); color: var(--on-mark); font-size: 13px; }
header strong { letter-spacing: .04em; text-transform: uppercase; margin-right: 6px; }
main { width: min(560px, 100% - 24px); margin: 12px auto; padding: 20px; background: var(--paper); border: 1px solid var(--line); border-radius: 12px; }
h1 { margin: 0 0 12px; font-size: 20px; line-height: 1.25; }
p { margin: 0 0 8px; overflow-wrap: anywhere; }
fieldset { margin: 14px 0 0; padding: 0; border: 0; }
legend { padding: 0 0 4px; color: var(--quiet); font-size: 13px; font-weight: 600; }
label { display: flex; gap: 10px; padding: 8px 0; border-top: 1px solid var(--line); cursor: pointer; }
label:has(:disabled) { cursor: default; }
input[type=checkbox] { flex: none; width: 18px; height: 18px; margin: 2px 0 0; accent-color: var(--main); }
small { display: block; color: var(--quiet); font-size: 12.5px; overflow-wrap: anywhere; }
.note { padding: 6px 10px; background: var(--ground); border-radius: 8px; font-size: 14px; }
.quiet { margin-top: 14px; color: var(--quiet); font-size: 13px; }
[role=alert] { color: var(--alert); font-weight: 600; }
.actions { position: sticky; bottom: 0; display: flex; flex-direction: row-reverse; gap: 10px; margin: 0 -20px -20px; padding: 12px 20px; background: var(--paper); border-top: 1px solid var(--line); border-radius: 0 0 12px 12px; }
button { flex: 1; min-height: 42px; padding: 8px 14px; border: 1px solid var(--line); border-radius: 8px; background: transparent; color: inherit; font: inherit; font-weight: 600; cursor: pointer; }
button.main { flex: 2; border-color: var(--main); background: var(--main); color: var(--on-main); }
:focus-visible { outline: 2px solid var(--main); outline-offset: 2px; }
`;
