import { mount } from "svelte";
import { connect } from "./ipc";
import "./kit/fonts.css";
import "./kit/tokens.css";
import "./kit/base.css";
import { followTextSize } from "./kit/textSize";
import { followTheme } from "./kit/theme";
import { parseRoute } from "./routes";

followTheme();
followTextSize();

// The popup is a separate window with fewer permissions.
const isPopup = () => parseRoute(location.hash).page === "popup";
const popup = isPopup();
// A new sign-in link, or a change between the main window and the popup, needs a reload.
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#login=") || isPopup() !== popup) location.reload();
});
// The popup has to appear fast, so it does not load the screens.
const [ipc, { default: Content }] = await Promise.all([
  connect(popup),
  popup ? import("./views/Popup.svelte") : import("./App.svelte"),
]);
const target = document.getElementById("app");
if (target) mount(Content, { target, props: { ipc } });
