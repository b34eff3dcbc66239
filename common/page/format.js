'use strict';
// Formats numbers and times for people.

function formatCount(n) {
  return Math.round(n).toLocaleString('en');
}

function formatRate(n) {
  if (n >= 1e6) return (n / 1e6).toFixed(1) + 'M';
  if (n >= 1e4) return (n / 1e3).toFixed(1) + 'k';
  if (n >= 100 || Number.isInteger(n)) return formatCount(n);
  return n < 0.1 && n > 0 ? '<0.1' : n >= 10 ? n.toFixed(0) : n.toFixed(1);
}

function formatMicros(us) {
  if (us >= 1e6) return (us / 1e6).toFixed(us >= 1e7 ? 0 : 1) + ' s';
  if (us >= 1e3) return (us / 1e3).toFixed(us >= 1e4 ? 0 : 1) + ' ms';
  return Math.round(us) + ' µs';
}

function formatSpan(s) {
  s = Math.floor(s);
  if (s >= 86400) return `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
  if (s >= 3600) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  if (s >= 60) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${s} s`;
}

function formatBytes(n) {
  if (n >= 1 << 20) return (n / (1 << 20)).toFixed(1) + ' MiB';
  return n >= 1024 ? (n / 1024).toFixed(1) + ' KiB' : n + ' B';
}

function formatClock(ms) {
  return new Date(ms).toLocaleTimeString('en-GB');
}
