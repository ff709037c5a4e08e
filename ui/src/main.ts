import { mount } from "svelte";
import App from "./App.svelte";
import { connect } from "./ipc";
import "./kit/fonts.css";
import "./kit/tokens.css";
import "./kit/base.css";
import { followTextSize } from "./kit/textSize";
import { followTheme } from "./kit/theme";
import { parseRoute } from "./routes";
import Popup from "./views/Popup.svelte";

followTheme();
followTextSize();

// The popup is a separate window with fewer permissions.
const isPopup = () => parseRoute(location.hash).page === "popup";
const popup = isPopup();
// A new sign-in link, or a change between the main window and the popup, needs a reload.
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#login=") || isPopup() !== popup) location.reload();
});
const ipc = await connect();
const target = document.getElementById("app");
if (target) mount(popup ? Popup : App, { target, props: { ipc } });
