/** The assets that the sandbox always contains and the demo client is connected to. */
export const DEMO_ASSETS = {
  name: "Sandbox Coffee",
  wabaId: "1500000000000201",
  templateNamespace: "ba30dd89_2ebd_41e4_b805_f2c05ae04cc9",
  phoneNumberId: "1400000000000301",
  displayPhoneNumber: "+55 11 90000-0301",
  chatToken: "EAASandboxDemoChat",
  pageId: "1300000000000401",
  photoappUserId: "1200000000000501",
  pageToken: "EAASandboxDemoPage",
  /** The person who granted these assets. */
  personId: "1700000000000042",
  adToken: "EAASandboxDemoAds",
  adAccount: {
    account_id: "1600000000000101",
    name: "Sandbox Coffee",
    account_status: 1,
    currency: "BRL",
    timezone_name: "America/Sao_Paulo",
  },
  business: { id: "1700000000000009", name: "Sandbox Coffee Ltda" },
} as const;
