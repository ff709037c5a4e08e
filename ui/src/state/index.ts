/** All stores, and the one subscription that feeds the stores that follow events. */

import { getContext, setContext } from "svelte";
import { toIpcError, type Event, type Ipc } from "../ipc";
import { AppOptionsStore } from "./appOptions.svelte";
import { Approvals } from "./approvals.svelte";
import { Audit } from "./audit.svelte";
import { Backups } from "./backups";
import { Browsers } from "./browsers.svelte";
import { Calls } from "./calls.svelte";
import { ClientFiles } from "./clientFiles.svelte";
import { Clients } from "./clients.svelte";
import { Folders } from "./folders.svelte";
import { Guide } from "./guide.svelte";
import { Connection } from "./connection.svelte";
import { Doctor } from "./doctor.svelte";
import { Drawbridge } from "./drawbridge.svelte";
import { Hooks } from "./hooks.svelte";
import { Import } from "./import.svelte";
import { Memory } from "./memory.svelte";
import { LogFeed } from "./logs.svelte";
import { Missed } from "./missed.svelte";
import { Overview } from "./overview.svelte";
import { Pairings } from "./pairings.svelte";
import { Policy } from "./policy.svelte";
import { Profiles } from "./profiles.svelte";
import { PublishedServers } from "./publishedServers.svelte";
import { Sampling } from "./sampling.svelte";
import { RunningCalls } from "./runningCalls.svelte";
import { Secrets } from "./secrets.svelte";
import { Servers } from "./servers.svelte";
import { Settings } from "./settings.svelte";
import { Usage } from "./usage.svelte";

/** A store reads all of its data, and follows changes by events. */
export interface Store {
  load(): Promise<void>;
  on(event: Event): void;
}

export class Stores {
  readonly connection = new Connection();
  readonly servers: Servers;
  readonly clients: Clients;
  readonly clientFiles: ClientFiles;
  readonly pairings: Pairings;
  readonly approvals: Approvals;
  readonly missed: Missed;
  readonly drawbridge: Drawbridge;
  /** The calls that a person had to decide. */
  readonly askedCalls: Calls;
  readonly calls: Calls;
  readonly runningCalls: RunningCalls;
  readonly policy: Policy;
  readonly profiles: Profiles;
  readonly publishedServers: PublishedServers;
  readonly hooks: Hooks;
  readonly settings: Settings;
  readonly appOptions: AppOptionsStore;
  readonly folders: Folders;
  readonly doctor: Doctor;
  readonly sampling: Sampling;
  readonly secrets: Secrets;
  readonly backups: Backups;
  readonly browsers: Browsers;
  readonly usage: Usage;
  readonly audit: Audit;
  readonly memory: Memory;
  readonly overview: Overview;
  readonly guide: Guide;
  private readonly feeds = new Set<LogFeed>();

  constructor(private readonly ipc: Ipc) {
    this.servers = new Servers(ipc);
    this.clients = new Clients(ipc);
    this.clientFiles = new ClientFiles(ipc);
    this.pairings = new Pairings(ipc);
    this.approvals = new Approvals(ipc);
    this.missed = new Missed(ipc);
    this.drawbridge = new Drawbridge(ipc);
    this.askedCalls = new Calls(ipc, true);
    this.calls = new Calls(ipc);
    this.runningCalls = new RunningCalls(ipc);
    this.policy = new Policy(ipc);
    this.profiles = new Profiles(ipc);
    this.publishedServers = new PublishedServers(ipc);
    this.hooks = new Hooks(ipc);
    this.settings = new Settings(ipc);
    this.appOptions = new AppOptionsStore(ipc.desktop);
    this.folders = new Folders(ipc);
    this.doctor = new Doctor(ipc);
    this.sampling = new Sampling(ipc);
    this.secrets = new Secrets(ipc);
    this.backups = new Backups(ipc);
    this.browsers = new Browsers(ipc);
    this.usage = new Usage(ipc);
    this.audit = new Audit(ipc);
    this.memory = new Memory(ipc);
    this.overview = new Overview(ipc);
    this.guide = new Guide(this.servers, this.clients, this.clientFiles, this.askedCalls);
  }

  start(): () => void {
    const stores = [
      this.servers,
      this.clients,
      this.clientFiles,
      this.pairings,
      this.approvals,
      this.missed,
      this.drawbridge,
      this.askedCalls,
      this.calls,
      this.runningCalls,
      this.policy,
      this.profiles,
      this.hooks,
      this.settings,
      this.folders,
      this.sampling,
      this.secrets,
      this.browsers,
      this.publishedServers,
    ];
    const stop = feed(this.ipc, this.connection, () => [...stores, ...this.feeds, this.memory]);
    return () => {
      stop();
      this.approvals.stop();
      this.missed.stop();
      this.clients.stop();
    };
  }

  /** Begins an import from the files of clients. Nothing is read before `find` is called. */
  beginImport(): Import {
    return new Import(this.ipc, this.servers);
  }

  /** Opens a tail of the log for a component, which has to call `close` when it is destroyed. */
  openLog(): { feed: LogFeed; close: () => void } {
    const opened = new LogFeed(this.ipc);
    this.feeds.add(opened);
    return {
      feed: opened,
      close: () => {
        this.feeds.delete(opened);
        opened.stop();
      },
    };
  }
}

/** Passes events to the stores, and lets them read everything again after a gap. */
export function feed(ipc: Ipc, connection: Connection, stores: () => Store[]): () => void {
  function readAll(): void {
    for (const store of stores())
      store.load().catch((thrown: unknown) => connection.recordFailure(toIpcError(thrown)));
  }
  return ipc.subscribe(
    (event) => {
      if (event.kind === "lagged") readAll();
      else for (const store of stores()) store.on(event);
    },
    (connected) => {
      connection.setConnected(connected);
      if (connected) readAll();
      // The end of a stream does not say why it ended, but the error of a failed verb does.
      else
        ipc
          .call("approvals.list", {})
          .catch((thrown: unknown) => connection.recordFailure(toIpcError(thrown)));
    },
  );
}

const KEY = Symbol("stores");

export function provideStores(stores: Stores): Stores {
  return setContext(KEY, stores);
}

export function useStores(): Stores {
  return getContext<Stores>(KEY);
}
