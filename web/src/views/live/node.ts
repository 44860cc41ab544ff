// What a node tells of itself and, every second, of its devices.
export interface Source {
  id: string;
  kind: string;
  boundary: string;
  scope: string;
  backend: string;
  status: string;
  grade: string;
  tick_s: number | null;
  gain: number | null;
  overlaps: string | null;
}

export interface Knob {
  id: string;
  name: string;
  unit: string;
  minimum: number | null;
  maximum: number | null;
  choices?: string[];
  default: number | string | null;
  value: number | string | null;
  lease: { id: string; owner: string; value: number | string; expires_unix_ms: number } | null;
}

export interface Device {
  id: string;
  kind: string;
  name: string;
  vendor: string;
  driver: string;
  index: number | null;
  uuid: string;
  note: string;
  sources: Source[];
  knobs: Knob[];
}

export interface Node {
  node: string;
  version: string;
  simulated: boolean;
  began_unix_ms: number;
  devices: Device[];
}

export interface DevicePicture {
  id: string;
  power_w: number | null;
  uncertainty_w: number | null;
  status: string;
  so_far_j: number | null;
  power_limit_w: number | null;
  clock_mhz: number | null;
  memory_clock_mhz: number | null;
  temperature_c: number | null;
  utilisation: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  throttle_reasons: string[];
}

export interface Picture {
  sequence: number;
  unix_ms: number;
  span_s: number;
  total_w: number | null;
  total_uncertainty_w?: number | null;
  /** Since the daemon began, nothing counted twice. */
  total_so_far_j?: number | null;
  status: string;
  devices: DevicePicture[];
}

/** "GPU 0", "CPU 1": short, and the same on every machine. */
export function deviceName(device: Device, devices: Device[]): string {
  const kind = { gpu: "GPU", cpu: "CPU", node: "Node", battery: "Battery" }[device.kind] ?? device.kind;
  const alike = devices.filter((one) => one.kind === device.kind);
  return alike.length === 1 && device.index === null ? kind : `${kind} ${device.index ?? alike.indexOf(device)}`;
}
