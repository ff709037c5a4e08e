/** The shared folders of the fake hub. */

import { IpcError } from "..";
import type { FoldersView } from "../bindings";

export class FakeFolders {
  view: FoldersView = {
    enabled: true,
    folders: [
      { path: "/home/me/notes", all_files: false, problem: "" },
      {
        path: "/media/usb/papers",
        all_files: true,
        problem: "'/media/usb/papers' cannot be opened: No such file or directory (os error 2)",
      },
    ],
  };

  clear(): void {
    this.view = { enabled: false, folders: [] };
  }

  add(path: string, allFiles: boolean): FoldersView {
    if (!path.startsWith("/"))
      throw new IpcError(
        "invalid",
        `the path '${path}' is not absolute; use a path such as /home/me/notes`,
      );
    const others = this.view.folders.filter((folder) => folder.path !== path);
    const folders = [...others, { path, all_files: allFiles, problem: "" }];
    folders.sort((a, b) => a.path.localeCompare(b.path));
    this.view = { enabled: this.view.enabled || !others.length, folders };
    return this.view;
  }

  remove(path: string): FoldersView {
    const folders = this.view.folders.filter((folder) => folder.path !== path);
    this.view = { ...this.view, folders };
    return this.view;
  }
}
